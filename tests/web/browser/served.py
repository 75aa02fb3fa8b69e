"""A running ``shoal serve``, started and ended as a user would."""

import re
import subprocess
import sys
from contextlib import contextmanager

from clocks import PATIENCE


class Server:
    """A running ``shoal serve``, with a link for every test."""

    def __init__(self, process, links):
        self.process, self.links = process, links

    def link(self):
        """Return a link that nobody has used: that of a new user."""
        return self.links.pop()


@contextmanager
def serving(folder, users, *options):
    """Start ``shoal serve`` as a user would, and end it as a user would."""
    command = [sys.executable, "-m", "shoal", "serve", "--no-browser", "--users", str(users), "--folder", str(folder)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said, links = [], []
        while len(links) < users:
            line = process.stdout.readline()
            said.append(line)
            assert line, f"the server must print its links: {''.join(said)}"
            links += re.findall(r"http://\S+#token=\S+", line)
        yield Server(process, links)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)

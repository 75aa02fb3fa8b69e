// Copy buttons of sessions copy what is typed: no prompts and no output. The theme copies `data-copy` if there is one.
const PROMPTS = { pycon: /^(?:>>>|\.\.\.)(?: |$)/, console: /^\$ / };

function typed(text, prompt, continued) {
  const lines = [];
  let open = false; // whether a backslash continues the command
  for (const line of text.split("\n")) {
    if (prompt.test(line)) lines.push(line.replace(prompt, ""));
    else if (continued && open) lines.push(line);
    else continue;
    open = /\\$/.test(line);
  }
  return lines.join("\n");
}

function prepare() {
  for (const [language, prompt] of Object.entries(PROMPTS)) {
    for (const block of document.querySelectorAll(`.language-${language}`)) {
      const code = block.querySelector("code");
      if (code) block.setAttribute("data-copy", typed(code.textContent, prompt, language === "console"));
    }
  }
}

document.addEventListener("DOMContentLoaded", prepare);

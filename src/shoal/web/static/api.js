// Requests to the server, which is the only one this page talks to. Errors have the shape of the library's errors.

const ROOT = "api/v1/";

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message || `The server must answer. Got status ${status}.`);
    this.status = status;
    this.kind = error?.kind || "";
    this.hint = error?.hint || "";
    this.problems = error?.problems || [];
  }
}

const lost = () =>
  new Refused(0, { message: "The server must be running. Got no answer.", hint: "Look at the terminal in which shoal serve runs, then reload this page." });

export async function call(method, path, body, headers = {}) {
  const raw = body instanceof Blob;
  let answer;
  try {
    answer = await fetch(ROOT + path, {
      method,
      headers: body === undefined || raw ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
    });
  } catch {
    throw lost();
  }
  if (answer.status === 204) return null;
  const told = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, told?.error);
  return told;
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);
export const patch = (path, body) => call("PATCH", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);

/** Send a file as it is. XMLHttpRequest, because fetch does not tell how much has been sent. */
export function upload(path, file, headers, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", ROOT + path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress?.(event.loaded / event.total);
    request.onerror = () => reject(lost());
    request.onload = () => (request.status < 300 ? resolve(request.response) : reject(new Refused(request.status, request.response?.error)));
    request.send(file);
  });
}

export const fileOf = (job, name, inline = false) => `${ROOT}jobs/${encodeURIComponent(job)}/files/${name}${inline ? "?inline=1" : ""}`;

// Milliseconds until a stream is asked for again that was refused.
const AGAIN = 5000;

/** Why a stream is refused, which an EventSource does not tell; null if it would be there now. */
async function refusal(path) {
  const stop = new AbortController();
  const answer = await fetch(path, { signal: stop.signal }).catch(() => null);
  const told = answer && !answer.ok ? await answer.json().catch(() => null) : null;
  stop.abort();
  return answer?.ok ? null : answer ? new Refused(answer.status, told?.error) : lost();
}

/**
 * One stream of events for all tables and jobs, from an event on. The browser resumes it where it breaks off; it is asked
 * for again if it was refused. A window that nobody sees does without: browsers have six connections for all of theirs.
 */
export function events(after, on) {
  let [last, source, waiting, ended] = [after, null, 0, false];
  const close = () => {
    clearTimeout(waiting);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (ended || document.hidden) return;
    const path = `${ROOT}events?after=${last}`;
    const mine = (source = new EventSource(path));
    for (const name of ["job", "table", "gone", "reset", "ending"]) {
      mine.addEventListener(name, (event) => {
        last = Number(event.lastEventId);
        if (name === "ending") (ended = true), close();
        on(name, JSON.parse(event.data), last);
      });
    }
    mine.onopen = () => on("open");
    mine.onerror = async () => {
      on("lost");
      if (mine.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      const why = await refusal(path);
      if (mine !== source) return;
      if (why) on("refused", why);
      ended = why?.status === 401;
      waiting = setTimeout(open, why ? AGAIN : 0);
    };
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : source || open()));
  open();
}

// What the page asks the gateway for. Addresses are relative, so that it works below a path too.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {() => void} */
let signedOut = () => {};

/** What to do when the gateway wants somebody to sign in. */
export function onSignedOut(work) {
  signedOut = work;
}

async function ask(method, path, body, signal) {
  const options = { method, headers: { accept: "application/json" }, credentials: "same-origin", signal };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  if (answer.ok) return answer.json();
  const message = errorMessage(await answer.text()) || `the gateway answered ${answer.status}`;
  if (answer.status === 401 && !path.endsWith("session")) signedOut();
  throw new ApiError(answer.status, message);
}

/** The message in an error of any dialect. */
export function errorMessage(text) {
  try {
    const found = JSON.parse(text);
    const error = found.error ?? found;
    return typeof error === "string" ? error : error.message ?? "";
  } catch {
    return text.slice(0, 500);
  }
}

export const api = {
  get: (path, signal) => ask("GET", `dragoman/${path}`, undefined, signal),
  post: (path, body, signal) => ask("POST", `dragoman/${path}`, body, signal),
  put: (path, body) => ask("PUT", `dragoman/${path}`, body),
  delete: (path) => ask("DELETE", `dragoman/${path}`),
};

/** Parameters that have a value, as a query. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? "?" + new URLSearchParams(given) : "";
}

/** Send a request to a model, as its client would. Resolves when the answer is whole. */
export async function sendToModel(path, body, signal) {
  const begun = performance.now();
  const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const answer = await fetch(path.replace(/^\//, ""), { method: "POST", headers, body, credentials: "same-origin", signal });
  const first = performance.now() - begun;
  const text = await answer.text();
  return {
    status: answer.status,
    ok: answer.ok,
    text,
    first,
    total: performance.now() - begun,
    id: answer.headers.get("x-dragoman-request-id") ?? "",
    model: answer.headers.get("x-dragoman-model") ?? "",
    changes: ["x-dragoman-changes", "x-dragoman-added"].map((name) => answer.headers.get(name)).filter(Boolean).join(", "),
  };
}

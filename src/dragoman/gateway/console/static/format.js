// Numbers, times and names as people read them.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const WHOLE = new Intl.NumberFormat("en");

export const clock = (seconds) => {
  const at = new Date(seconds * 1000);
  const today = new Date().toDateString() === at.toDateString();
  return today ? CLOCK.format(at) : `${DATE.format(at)} ${CLOCK.format(at)}`;
};

export const fullTime = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${seconds < 0.01 ? (seconds * 1000).toFixed(1) : Math.round(seconds * 1000)} ms`;
  return seconds < 100 ? `${seconds.toFixed(seconds < 10 ? 2 : 1)} s` : `${Math.round(seconds)} s`;
}

export const count = (number) => WHOLE.format(number ?? 0);

export function short(number) {
  if (number < 10_000) return count(number);
  return number < 1e6 ? `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)}k` : `${(number / 1e6).toFixed(1)}M`;
}

export function money(amount) {
  if (amount === null || amount === undefined) return "–";
  return amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(2))).replace(/^0\.\d$/, "$&0");
}

/** A dialect in a word: `openai-chat` is Chat. */
export const dialectName = (name) => (name ?? "").split("-").at(-1).replace(/^./, (letter) => letter.toUpperCase());

export const LOSSES = ["nothing", "order", "metadata", "authority", "content"];

/** How much is lost, as a circle that fills: it can be told without its colour too. */
export const LOSS_SIGNS = { nothing: "○", order: "◔", metadata: "◑", authority: "◕", content: "●" };

export const lossWeight = (loss) => Math.max(LOSSES.indexOf(loss), 0);

export const plural = (number, one, many = one + "s") => `${count(number)} ${number === 1 ? one : many}`;

/** Where the configuration is. Only who may save is told what saving does. */
export function describeFile({ file, exists, editable }) {
  if (exists) return file;
  return editable ? `${file} does not exist yet: saving creates it` : `${file} does not exist`;
}

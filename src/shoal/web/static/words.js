// Numbers, dates and lists as text, in the style of the report.

const MINUS = "\u2212";
const DAY = 86400000;

export const whole = (count) => Math.round(count).toLocaleString("en-GB");

export const signed = (text) => text.replace("-", MINUS);

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0"; // and not -0
  if (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9) return signed(value.toPrecision(digits));
  return signed(value.toLocaleString("en-GB", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1))) }));
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  return `${signed(value.toLocaleString("en-GB", { maximumSignificantDigits: Math.abs(value) < 10 ? 2 : 3 }))} %`;
}

export function day(days, spread) {
  const date = new Date(days * DAY);
  if (Number.isNaN(date.getTime())) return `day ${number(days)}`;
  return date.toISOString().slice(0, spread >= 60 ? 7 : 10);
}

/** The text of a value at an axis. Dates are days since 1970, moments microseconds. */
export function tick(value, kind, spread) {
  if (kind === "date") return day(value, spread);
  if (kind === "datetime") return day(value / (DAY * 1000), spread / (DAY * 1000));
  return number(kind === "integer" ? Math.round(value) : value, 3);
}

/** As the server counts and says them: a kB has 1024. */
export function bytes(count) {
  if (count < 2 ** 20) return `${whole(Math.max(1, count / 2 ** 10))} kB`;
  return count < 2 ** 30 ? `${number(count / 2 ** 20, 3)} MB` : `${number(count / 2 ** 30, 3)} GB`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

/** The number that a text stands for, else the text; nothing is null. */
export const scalar = (text) => (text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text);

/** Values between commas; one that has a comma stands in quotes. */
export const listed = (text) => {
  const found = [...text.matchAll(/"([^"]*)"|[^,"]+/g)].map((match) => match[1] ?? match[0].trim()).filter(Boolean);
  return found.length ? found : null;
};

export const joined = (values) => (values || []).map((one) => (String(one).includes(",") ? `"${one}"` : String(one))).join(", ");

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

export const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

// Numbers, dates and lists as text, in the style of the report.

const MINUS = "\u2212";
const DAY = 86400000;

export const whole = (count) => Math.round(count).toLocaleString("en-GB");

export const signed = (text) => text.replace("-", MINUS);

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9)) return signed(value.toPrecision(digits));
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

export function bytes(count) {
  if (count < 1e6) return `${whole(Math.max(1, count / 1e3))} kB`;
  return count < 1e9 ? `${number(count / 1e6, 3)} MB` : `${number(count / 1e9, 3)} GB`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

export const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

import { isIP, isIPv4, isIPv6 } from "node:net";
import { dnsLabelProblems, dnsSubdomainProblems } from "../meta/names.ts";
import { isIntOrString, type OpenApiSchema } from "./open-api-schema.ts";

/**
 * Formats of strings that upstream 1.36 checks, by their name without hyphens. A schema with any other format is accepted,
 * and the format is ignored. The patterns are bounded: they match in linear time.
 */
const formats: Readonly<Record<string, (value: string) => boolean>> = {
  bsonobjectid: (value) => /^[0-9a-fA-F]{24}$/.test(value),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: (value) => isIPv6(value) && !value.includes("%"),
  cidr: isCidr,
  mac: isMac,
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  uuid3: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  uuid4: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(value),
  uuid5: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(value),
  isbn: (value) => isIsbn10(value) || isIsbn13(value),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (value) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(value),
  hexcolor: (value) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(value),
  rgbcolor: isRgbColor,
  byte: (value) => /^[A-Za-z0-9+/]+={0,2}$/.test(value) && value.length % 4 === 0,
  password: () => true,
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && isCalendarDate(value),
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: (value) => dnsLabelProblems(value).length === 0,
  k8slongname: (value) => dnsSubdomainProblems(value).length === 0,
};

/** Format that is checked for strings of the schema. Undefined for unknown formats. */
export function formatOf({ type, format, ...schema }: OpenApiSchema): string | undefined {
  if (!format || isIntOrString(schema) || (type !== undefined && type !== "string")) return undefined;
  return Object.hasOwn(formats, normalized(format)) ? format : undefined;
}

export function isOfFormat(format: string, value: string): boolean {
  return formats[normalized(format)]?.(value) ?? true;
}

/** Whether upstream knows the format for the type. Unknown formats cause a warning. */
export function isKnownFormat(type: string | undefined, format: string): boolean {
  if (type === "integer") return format === "int32" || format === "int64";
  if (type === "number") return format === "float" || format === "double";
  return (type === undefined || type === "string") && Object.hasOwn(formats, normalized(format));
}

function normalized(format: string): string {
  return format.replaceAll("-", "");
}

/** As Go's url.ParseRequestURI, and with a scheme or an absolute path. */
function isRequestUri(value: string): boolean {
  if (value.startsWith("/")) return !/[\s\p{Cc}]/u.test(value);
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(value) && URL.canParse(value);
}

function isEmail(value: string): boolean {
  const address = /<([^<>]*)>\s*$/.exec(value)?.[1] ?? value;
  const at = address.lastIndexOf("@");
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  return (
    at > 0 &&
    (/^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]+$/u.test(local) || /^"[^"\r\n]*"$/.test(local)) &&
    !/^\.|\.\.|\.$/.test(local) &&
    (/^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]+$/u.test(domain) || /^\[[^\]]+\]$/.test(domain)) &&
    !/^\.|\.\.|\.$/.test(domain)
  );
}

function isHostname(value: string): boolean {
  if (value === "" || Buffer.byteLength(value) > 255) return false;
  const labels = value.split(".");
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return false;
  const isLabel = (label: string) =>
    /^[a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9\p{S}\p{L}-]*[a-zA-Z0-9\p{S}\p{L}])?$/u.test(label);
  if (!labels.every(isLabel)) return false;
  return labels.length === 1 || /^[a-zA-Z\p{L}]{2,63}$/u.test(labels.at(-1) ?? "");
}

function isCidr(value: string): boolean {
  const [address = "", bits = "", ...more] = value.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(bits)) return false;
  return Number(bits) <= (family === 4 ? 32 : 128);
}

function isMac(value: string): boolean {
  const octets = [6, 8, 20];
  for (const separator of [":", "-"]) {
    const parts = value.split(separator);
    if (octets.includes(parts.length)) return parts.every((part) => /^[0-9a-fA-F]{2}$/.test(part));
  }
  const groups = value.split(".");
  return [3, 4, 10].includes(groups.length) && groups.every((part) => /^[0-9a-fA-F]{4}$/.test(part));
}

function isIsbn10(value: string): boolean {
  const text = value.replace(/[\s-]+/g, "");
  if (!/^\d{9}[\dX]$/.test(text)) return false;
  const sum = [...text].reduce(
    (total, digit, i) => total + (i + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(value: string): boolean {
  const text = value.replace(/[\s-]+/g, "");
  if (!/^\d{13}$/.test(text)) return false;
  return [...text].reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

function isCreditCard(value: string): boolean {
  const digits = value.replace(/[^0-9]+/g, "");
  const issuers =
    /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
  if (!issuers.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const doubled = i % 2 === 1 ? 2 * Number(digit) : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

function isRgbColor(value: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(value)?.slice(1);
  return parts?.every((part) => Number(part) <= 255) ?? false;
}

/** As Go's time.ParseDuration (`1h30m`), or a number with a word (`22 minutes`). */
function isDuration(value: string): boolean {
  if (/^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(value)) return true;
  const words =
    /^(?:\d+\s*(?:nanoseconds?|nanos?|ns|microseconds?|micros?|us|µs|milliseconds?|millis?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)\s*)+$/i;
  return words.test(value);
}

function isCalendarDate(date: string): boolean {
  const parsed = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date);
}

function isDateTime(value: string): boolean {
  const match = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/.exec(
    value,
  );
  if (!match) return false;
  const [, date = "", hour, minute, second] = match;
  return isCalendarDate(date) && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 61;
}

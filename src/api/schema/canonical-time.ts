import { DecodeError } from "./decode-error.ts";

const secondsLayout = "2006-01-02T15:04:05Z07:00";
const microsLayout = "2006-01-02T15:04:05.000000Z07:00";

// What nearly all times look like: canonical already, and of a day that every month has.
const minute = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d`;
const plainTime = new RegExp(String.raw`^${minute}:[0-5]\dZ$`);
const plainMicroTime = new RegExp(String.raw`^${minute}:[0-5]\d\.\d{6}Z$`);

/** The form in which the API keeps a time: UTC and whole seconds. */
export function canonicalTime(text: string): string {
  if (plainTime.test(text)) return text;
  return formatUtc(parse(text, secondsLayout), "");
}

/** Lease and event times: UTC and exactly six digits of a second, which the text must have. */
export function canonicalMicroTime(text: string): string {
  if (plainMicroTime.test(text)) return text;
  const time = parse(text, microsLayout);
  if (time.fraction.length !== 6) throw unreadable(text, microsLayout, 19);
  return formatUtc(time, `.${time.fraction}`);
}

interface ParsedTime {
  readonly date: Date;
  /** The digits behind the whole second. */
  readonly fraction: string;
}

const shape = /^(\d{4}-(\d\d)-\d\dT(\d\d):(\d\d):(\d\d))(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

function parse(text: string, layout: string): ParsedTime {
  const match = shape.exec(text);
  if (!match) throw unreadable(text, layout, 0);
  const [, local = "", month, hour, minute, second, fraction = "", sign, offsetHours = 0, offsetMinutes = 0] =
    match;
  for (const [part, value, max] of [
    ["month", month, 12],
    ["hour", hour, 23],
    ["minute", minute, 59],
    ["second", second, 59],
  ] as const) {
    if (Number(value) > max) throw outOfRange(text, part);
  }
  // A date that does not exist is read as another one, or as none.
  const date = new Date(`${local}Z`);
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(local)) throw outOfRange(text, "day");
  const offset = Number(offsetHours) * 60 + Number(offsetMinutes);
  date.setUTCMinutes(date.getUTCMinutes() + (sign === "-" ? offset : -offset));
  if (date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999) throw outOfRange(text, "year");
  return { date, fraction };
}

function formatUtc({ date }: ParsedTime, fraction: string): string {
  return `${date.toISOString().slice(0, 19)}${fraction}Z`;
}

/** Says where reading stopped, as Go does: at the start, or at the fraction of a second. */
function unreadable(text: string, layout: string, at: 0 | 19): DecodeError {
  const rest = JSON.stringify(text.slice(at));
  const element = at === 0 ? "2006" : ".000000";
  return new DecodeError(
    `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${rest} as "${element}"`,
  );
}

function outOfRange(text: string, part: string): DecodeError {
  return new DecodeError(`parsing time ${JSON.stringify(text)}: ${part} out of range`);
}

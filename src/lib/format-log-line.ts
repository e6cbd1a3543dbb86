/** One JSON log line as a person reads it: `12:00:00.000 INFO  apiserver  listening  port=6443`. */
export function formatLogLine(line: string): string {
  const { time, level, component, msg, error, ...fields } = JSON.parse(line);
  const clock = String(time).slice(11, 23);
  const details = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  const parts = [
    `${clock} ${String(level).toUpperCase().padEnd(5)}`,
    component,
    msg,
    ...details,
    formatError(error),
  ];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

function formatValue(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@-]+$/.test(value)) return value;
  return JSON.stringify(value);
}

function formatError(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null)
    return error === undefined ? undefined : `error=${formatValue(error)}`;
  const message = "message" in error ? error.message : error;
  return `error=${formatValue(message)}`;
}

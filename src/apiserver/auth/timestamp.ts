/** RFC 3339 without fractions of a second, as objects carry times. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

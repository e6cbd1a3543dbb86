/** CRI's timestamps are nanoseconds since 1970; the clock's are milliseconds. */
export function toNanos(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000)) * 1_000n;
}

/** How long this process has worked so far, in milliseconds: a busy machine adds nothing to it. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The mapping runtimes use: 2..262144 shares onto 1..10000. */
export function weightFromShares(shares: number): number {
  const bounded = Math.min(Math.max(shares, 2), 262_144);
  return 1 + Math.floor(((bounded - 2) * 9999) / 262_142);
}

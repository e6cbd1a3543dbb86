/** Resolves a number or a percentage (`25%`) of a total. Other values, which API validation rejects, count as 0. */
export function scaledValue(value: string | number | undefined, total: number, round: "up" | "down"): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const percent = /^[0-9]+(?=%$)/.exec(value)?.[0];
  if (percent === undefined) return 0;
  const exact = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

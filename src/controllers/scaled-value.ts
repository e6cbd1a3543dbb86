/** A number, or `25%` of a total. What is neither counts as nothing: the API does not let it in. */
export function scaledValue(value: string | number | undefined, total: number, round: "up" | "down"): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const percent = /^[0-9]+(?=%$)/.exec(value)?.[0];
  if (percent === undefined) return 0;
  const exact = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/** What the writing process says. `revision` is missing where the write lost a race. */
export type Report =
  | { kind: "ready" }
  | { kind: "issued"; id: string; key: string; deletes: boolean }
  | { kind: "answered"; id: string; revision?: number };

export const sharedKey = "/shared";

/** A value that says which write it is of. Sizes go from a few bytes to several pages. */
export function crashValue(key: string, id: string): Buffer {
  const size = [0, 10, 800, 3_000, 20_000][hash(id) % 5] ?? 0;
  return Buffer.from(`${id} ${key} ${"x".repeat(size)}`);
}

function hash(text: string): number {
  let result = 0;
  for (const character of text) result = (result * 31 + character.charCodeAt(0)) >>> 0;
  return result;
}

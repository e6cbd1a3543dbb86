import type { FeedChange, FeedMessage } from "./feed-message.ts";

type Part = Exclude<keyof FeedChange | "cluster", "now">;

/** Puts a message together from JSON that is there already. Parts that are undefined are left out. */
export function composeMessage(
  kind: FeedMessage["kind"],
  {
    now,
    parts,
  }: { readonly now: number; readonly parts: Readonly<Partial<Record<Part, string | undefined>>> },
): string {
  const texts = Object.entries(parts).flatMap(([name, text]) =>
    text === undefined ? [] : `"${name}":${text}`,
  );
  return `{"kind":"${kind}","now":${now}${texts.map((text) => `,${text}`).join("")}}`;
}

export function composeList(texts: Iterable<string>): string {
  return `[${[...texts].join(",")}]`;
}

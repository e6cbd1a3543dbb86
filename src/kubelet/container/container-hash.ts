import type { Container } from "../../api/objects.ts";

/**
 * Of what cannot change under a running container: its name and image. The same number as upstream's, so that a node
 * can go from one kubelet to the other without a restart of its containers.
 */
export function hashContainer({ name, image = "" }: Pick<Container, "name" | "image">): string {
  const bytes = Buffer.from(goJson({ image, name }));
  // Upstream hashes the JSON not as text but as Go prints a slice of bytes.
  return fnv32a(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}

/** Go escapes what browsers could take for markup. */
function goJson(value: object): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function fnv32a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

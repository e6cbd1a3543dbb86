export type Random = (below: number) => number;

/** The same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const pageSize = 4_096;
const sector = 512;

/** Ways in which a disk, a copy or a bug spoils a file. Each changes `bytes` in place. */
export const damages: Record<string, (bytes: Buffer, random: Random) => void> = {
  "a bit anywhere": (bytes, random) => flipBit(bytes, random(bytes.length), random),
  "a bit in the header of a page": (bytes, random) =>
    flipBit(bytes, pageStart(bytes, random) + random(24), random),
  "a bit in the slots of a page": (bytes, random) =>
    flipBit(bytes, pageStart(bytes, random) + 24 + random(16), random),
  "a bit in a node at the end of a page": (bytes, random) =>
    flipBit(bytes, pageStart(bytes, random) + pageSize - 1 - random(80), random),
  "a bit in a meta page": (bytes, random) => flipBit(bytes, random(2) * pageSize + random(168), random),
  "some bytes anywhere": (bytes, random) => {
    const at = random(bytes.length - 16);
    for (let i = 0; i < 16; i++) bytes[at + i] = random(256);
  },
  "a sector of zeros": (bytes, random) => {
    const at = random(bytes.length / sector) * sector;
    bytes.fill(0, at, at + sector);
  },
  "a page in the place of another": (bytes, random) => {
    const from = pageStart(bytes, random);
    bytes.copy(bytes, pageStart(bytes, random), from, from + pageSize);
  },
};

function flipBit(bytes: Buffer, at: number, random: Random): void {
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
}

function pageStart(bytes: Buffer, random: Random): number {
  return random(bytes.length / pageSize) * pageSize;
}

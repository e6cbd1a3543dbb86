import { arch } from "node:process";

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

const architectures: Record<string, Platform> = {
  x64: { os: "linux", architecture: "amd64" },
  arm64: { os: "linux", architecture: "arm64", variant: "v8" },
  arm: { os: "linux", architecture: "arm", variant: "v7" },
  ia32: { os: "linux", architecture: "386" },
};

export const hostPlatform: Platform = architectures[arch] ?? { os: "linux", architecture: arch };

/** The index entry that runs here and fits best; for arm an older variant also runs. */
export function choosePlatform<T extends { readonly platform?: Partial<Platform> }>(
  entries: readonly T[],
  wanted: Platform,
): T | undefined {
  const fitting = entries
    .map((entry) => ({ entry, rank: rankOf(entry.platform, wanted) }))
    .filter(({ rank }) => rank > 0);
  // The first of equals, as other runtimes choose.
  return fitting.reduce<{ entry?: T; rank: number }>((best, next) => (next.rank > best.rank ? next : best), {
    rank: 0,
  }).entry;
}

/** 0 does not run here; the more, the better it fits. */
function rankOf(have: Partial<Platform> | undefined, wanted: Platform): number {
  // Entries without a platform are for any; attestations say "unknown".
  if (!have) return 1;
  if (have.os !== wanted.os || have.architecture !== wanted.architecture) return 0;
  const [ours, theirs] = [variantOf(wanted), variantOf(have)];
  if (theirs === ours) return 100;
  return theirs < ours ? 10 + theirs : 0;
}

function variantOf({ architecture, variant }: Partial<Platform>): number {
  const number = Number(variant?.replace(/^v/, ""));
  if (Number.isInteger(number) && variant) return number;
  if (architecture === "arm64") return 8;
  if (architecture === "arm") return 7;
  return architecture === "amd64" ? 1 : 0;
}

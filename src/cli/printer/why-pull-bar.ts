import type { PullFacts } from "../../monitor/explain/explanation.ts";
import { painter, type ScreenOptions } from "./terminal-text.ts";

/** How far a pull is, where its size is known. */
export function renderPullBar(pulls: readonly PullFacts[], { columns, color }: ScreenOptions): string[] {
  const pull = pulls.find(({ total }) => total > 0);
  if (!pull) return [];
  const paint = painter(color);
  const width = Math.max(10, Math.min(40, columns - 14));
  const share = Math.min(1, pull.offset / pull.total);
  const full = Math.floor(share * width);
  return [
    `${paint("cyan", "█".repeat(full))}${paint("dim", "░".repeat(width - full))}  ${Math.floor(share * 100)} %`,
  ];
}

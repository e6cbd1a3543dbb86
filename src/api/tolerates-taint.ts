import type { Node, PodSpec } from "./objects.ts";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
export type Toleration = NonNullable<PodSpec["tolerations"]>[number];

export function toleratesTaint({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return (value ?? "") === (taint.value ?? "");
    default:
      // Comparisons (Lt, Gt) are alpha upstream, and off.
      return false;
  }
}

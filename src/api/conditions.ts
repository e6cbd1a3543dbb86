interface Conditioned<Condition> {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function conditionOf<Condition extends { readonly type: string }>(
  { status }: Conditioned<Condition>,
  type: string,
): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isTrue(
  object: Conditioned<{ readonly type: string; readonly status: string }>,
  type: string,
): boolean {
  return conditionOf(object, type)?.status === "True";
}

/** A pod or a node. */
export function isReady(object: Parameters<typeof isTrue>[0]): boolean {
  return isTrue(object, "Ready");
}

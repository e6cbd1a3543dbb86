import fc from "fast-check";

export const kinds = ["statefulsets", "pods", "persistentvolumeclaims", "controllerrevisions"] as const;
export const brokenImages = ["broken:permanent", "broken:transient"];
const images = ["good:1", "good:2", "good:3", ...brokenImages];

/** Number of changes per kind that the first list misses: API servers serve lists from caches of different ages. */
export type Lag = Readonly<Record<(typeof kinds)[number], number>>;

export type Step =
  /** Rounds without faults. */
  | { readonly kind: "rounds"; readonly count: number }
  | { readonly kind: "restart"; readonly lag: Lag }
  | { readonly kind: "reconcile"; readonly crashAtCall?: number; readonly restartLag: Lag }
  | { readonly kind: "deliver"; readonly resource: (typeof kinds)[number]; readonly changes: number }
  | { readonly kind: "node"; readonly ordinal: number; readonly does: "start" | "fail" | "end" | "finish" }
  | { readonly kind: "image"; readonly image: string }
  | { readonly kind: "scale"; readonly replicas: number }
  | { readonly kind: "evict"; readonly ordinal: number };

const ordinal = fc.integer({ min: 0, max: 4 });
const few = fc.constantFrom(0, 0, 1, 2, 5);
const lag: fc.Arbitrary<Lag> = fc.record({
  statefulsets: few,
  pods: fc.integer({ min: 0, max: 8 }),
  persistentvolumeclaims: few,
  controllerrevisions: few,
});
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("rounds" as const), count: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("restart" as const), lag }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("reconcile" as const),
      crashAtCall: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined, freq: 2 }),
      restartLag: lag,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("deliver" as const),
      resource: fc.constantFrom(...kinds),
      changes: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("node" as const),
      ordinal,
      does: fc.constantFrom(
        "start" as const,
        "start" as const,
        "finish" as const,
        "finish" as const,
        "fail" as const,
        "end" as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("image" as const), image: fc.constantFrom(...images) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("scale" as const), replicas: fc.integer({ min: 0, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("evict" as const), ordinal }) },
);

/** Properties of the set under test. */
export const shape = fc.record({
  type: fc.constantFrom("RollingUpdate", "EnforcedRollingUpdate", "Recreate"),
  policy: fc.constantFrom("OrderedReady", "Parallel"),
  permanentOnly: fc.boolean(),
  rollingUpdate: fc.constantFrom(undefined, { partition: 0 }),
});
export type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

import { beforeAll, describe, expect, test } from "vitest";
import type {
  CustomResourceDefinition,
  DefinitionNames,
} from "../../api/custom/custom-resource-definition.ts";
import { loadPatternEngine } from "../../api/custom/pattern.ts";
import { decideStatus } from "./decide-status.ts";

beforeAll(loadPatternEngine);

const now = "2026-01-01T00:00:00Z";

function definition(
  names: DefinitionNames,
  parts: Partial<CustomResourceDefinition> = {},
): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names,
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
    ...parts,
  };
}

const names = { plural: "as", singular: "a", kind: "A", listKind: "AList" };
const other = definition(
  { plural: "bs", singular: "b", kind: "B", listKind: "BList" },
  {
    status: {
      acceptedNames: { plural: "bs", singular: "b", kind: "B", listKind: "BList", shortNames: ["x"] },
    },
  },
);

function summary(status: ReturnType<typeof decideStatus>): string[] {
  return (status.conditions ?? []).map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);
}

const established = ["NamesAccepted True NoConflicts", "Established True InitialNamesAccepted"];

describe("decideStatus", () => {
  test("accepts free names and establishes the definition", () => {
    const status = decideStatus({ definition: definition(names), others: [other], now });
    expect(summary(status)).toEqual(established);
    expect(status.acceptedNames).toEqual(names);
  });

  test.each([
    ["plural", { ...names, plural: "bs" }, "PluralConflict"],
    ["singular", { ...names, singular: "x" }, "SingularConflict"],
    ["short name", { ...names, shortNames: ["x", "y"] }, "ShortNamesConflict"],
    ["kind", { ...names, kind: "B" }, "KindConflict"],
    ["list kind", { ...names, listKind: "BList" }, "ListKindConflict"],
  ])("does not establish a definition whose %s is in use", (_, requested, reason) => {
    const status = decideStatus({ definition: definition(requested), others: [other], now });
    expect(summary(status)).toEqual([`NamesAccepted False ${reason}`, "Established False NotAccepted"]);
  });

  test("keeps an established definition served when a new short name is in use", () => {
    const first = definition(names);
    const status = decideStatus({ definition: first, others: [other], now });
    const changed = definition({ ...names, shortNames: ["x"] }, { status });
    const next = decideStatus({ definition: changed, others: [other], now: "2026-01-02T00:00:00Z" });
    expect(summary(next)).toEqual(["NamesAccepted False ShortNamesConflict", established[1]]);
    expect(next.acceptedNames).toEqual(names);
    expect(next.conditions?.[1]?.lastTransitionTime).toBe(now);
  });

  test("returns the same status when nothing changes", () => {
    const status = decideStatus({ definition: definition(names), others: [], now });
    const again = decideStatus({ definition: definition(names, { status }), others: [], now: "later" });
    expect(again).toBe(status);
  });

  test("reports schemas that are not structural", () => {
    const loose = definition(names);
    loose.spec.preserveUnknownFields = true;
    const status = decideStatus({ definition: loose, others: [], now });
    expect(summary(status)).toContain("NonStructuralSchema True Violations");
    const fixed = decideStatus({ definition: definition(names, { status }), others: [], now });
    expect(summary(fixed)).toEqual(established);
  });
});

import { expect, test } from "vitest";
import { type Collection, decideCollection, type OwnerState } from "./decide-item.ts";
import type { Deletion } from "./owner-graph.ts";

interface Case {
  name: string;
  owners: OwnerState[];
  dependents?: Deletion[];
  finalizers?: string[];
  expected: Collection;
}

const keep: Collection = { kind: "keep" };
const remove = (
  propagationPolicy: "Background" | "Foreground" | "Orphan",
  unblockOwners = false,
): Collection => ({ kind: "delete", propagationPolicy, unblockOwners });

const cases: Case[] = [
  { name: "nobody owned it", owners: [], expected: keep },
  { name: "its owner is there", owners: ["solid"], expected: keep },
  { name: "its owner is gone", owners: ["dangling"], expected: remove("Background") },
  { name: "all owners are gone", owners: ["dangling", "dangling"], expected: remove("Background") },
  { name: "one is gone", owners: ["solid", "dangling"], expected: { kind: "dropReferences", uids: ["1"] } },
  {
    name: "one is gone, one waits",
    owners: ["waiting", "solid", "dangling"],
    expected: { kind: "dropReferences", uids: ["2", "0"] },
  },
  { name: "its owner waits for it", owners: ["waiting"], expected: remove("Background") },
  {
    name: "its owner waits, and others depend on it",
    owners: ["waiting"],
    dependents: ["none"],
    expected: remove("Foreground"),
  },
  {
    name: "its owner waits, and so does a dependent",
    owners: ["waiting", "dangling"],
    dependents: ["none", "foreground"],
    expected: remove("Foreground", true),
  },
  {
    name: "its owner is gone, others depend on it",
    owners: ["dangling"],
    dependents: ["none"],
    expected: remove("Background"),
  },
  {
    name: "it has been told to leave its dependents",
    owners: ["dangling"],
    finalizers: ["orphan"],
    expected: remove("Orphan"),
  },
  {
    name: "it has been told to wait for its dependents",
    owners: ["dangling"],
    finalizers: ["foregroundDeletion"],
    expected: remove("Foreground"),
  },
];

test.each(cases)("$name", ({ owners, dependents = [], finalizers, expected }) => {
  const facts = {
    metadata: { finalizers },
    owners: owners.map((state, index) => ({
      reference: { apiVersion: "v1", kind: "ConfigMap", name: `${index}`, uid: `${index}` },
      state,
    })),
    dependents: dependents.map((deletion) => ({ deletion })),
  };
  expect(decideCollection(facts)).toEqual(expected);
});

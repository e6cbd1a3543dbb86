import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/meta/objects.ts";
import { decideClaim } from "./ownership.ts";

const make = (name: string, uid?: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    ...(uid && { ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid, controller: true }] }),
    ...metadata,
  },
});

describe("decideClaim", () => {
  const owner = make("owner", undefined, { uid: "me" });
  const objects = [
    make("mine", "me"),
    make("mine-no-more", "me"),
    make("another's", "other"),
    make("orphan"),
    make("orphan-that-goes", undefined, { deletionTimestamp: "x" }),
    make("stranger"),
  ];
  const isMember = ({ metadata }: KubeObject) =>
    metadata.name !== "mine-no-more" && metadata.name !== "stranger";
  const names = (list: readonly KubeObject[]) => list.map(({ metadata }) => metadata.name);

  test("keeps owned objects, adopts orphans and releases objects that no longer match", () => {
    const { kept, adopted, released } = decideClaim(owner, objects, isMember);
    expect({ kept: names(kept), adopted: names(adopted), released: names(released) }).toEqual({
      kept: ["mine"],
      adopted: ["orphan"],
      released: ["mine-no-more"],
    });
  });

  test("changes nothing for an owner that is being deleted", () => {
    const going = { ...owner, metadata: { ...owner.metadata, deletionTimestamp: "x" } };
    expect(decideClaim(going, objects, isMember)).toMatchObject({ adopted: [], released: [] });
  });
});

import { expect, test } from "vitest";
import { decideLeases, describeOtherHolder, type LeaseFlags } from "./controller-manager.ts";

const flags: LeaseFlags = { leaderElect: true, ignoreUpstreamLease: false, dryRun: false };

test.each<[string, Partial<LeaseFlags>, ReturnType<typeof decideLeases>]>([
  ["holds upstream's lease", {}, { leases: ["kube-controller-manager"] }],
  [
    "holds upstream's lease beside its own",
    { leaderElectLease: "mine" },
    { leases: ["mine", "kube-controller-manager"] },
  ],
  [
    "without leader election, requires that no other process holds upstream's lease",
    { leaderElect: false },
    { leases: [], unclaimedLease: "kube-controller-manager" },
  ],
  [
    "forced, holds a lease of Kindling's",
    { ignoreUpstreamLease: true },
    { leases: ["kindling-controller-manager"] },
  ],
  [
    "forced, holds the lease it is given",
    { ignoreUpstreamLease: true, leaderElectLease: "mine" },
    { leases: ["mine"] },
  ],
  [
    "forced and without election, holds none",
    { ignoreUpstreamLease: true, leaderElect: false },
    { leases: [] },
  ],
  ["in a dry run, holds none", { dryRun: true }, { leases: [] }],
])("%s", (_, given, expected) => {
  expect(decideLeases({ ...flags, ...given })).toEqual(expected);
});

test("rejects --ignore-upstream-lease for the lease that it holds", () => {
  const given = { ...flags, ignoreUpstreamLease: true, leaderElectLease: "kube-controller-manager" };
  expect(() => decideLeases(given)).toThrow(/--ignore-upstream-lease cannot be used with the lease/);
});

test("names the holder of the lease and the flag that overrides it", () => {
  expect(describeOtherHolder("kube-controller-manager", "node-1_x")).toMatch(
    /^controllers do not run: node-1_x holds the lease .*--controllers.*--ignore-upstream-lease/,
  );
  expect(describeOtherHolder("mine", "node-1_x")).not.toContain("--controllers");
});

import { describe, expect, it } from "vitest";
import { allCapabilities, capabilitiesOfMask, decideCapabilities } from "./capabilities.ts";

const security = (add: string[], drop: string[], privileged = false) => ({
  privileged,
  capabilities: { add, drop },
});

describe("decideCapabilities", () => {
  it.each([
    ["nothing asked", [], [], 14],
    ["one added", ["NET_ADMIN"], [], 15],
    ["drops a capability with the prefix", [], ["CAP_CHOWN"], 13],
    ["drops all", [], ["ALL"], 0],
    ["drops all but one", ["CHOWN"], ["all"], 1],
    ["all added", ["ALL"], [], 41],
    ["adds all but one", ["ALL"], ["SYS_ADMIN"], 40],
    ["drops a capability that is also added", ["SYS_TIME"], ["SYS_TIME"], 14],
  ])("%s", (_name, add, drop, count) => {
    expect(decideCapabilities(security(add, drop), allCapabilities)).toHaveLength(count);
  });

  it("omits capabilities that the daemon lacks", () => {
    const own = allCapabilities.filter((name) => name !== "SYS_RESOURCE");
    expect(decideCapabilities(security([], [], true), own)).toEqual(own);
    expect(decideCapabilities(security(["SYS_RESOURCE"], ["ALL"]), own)).toEqual([]);
  });

  it("rejects unknown names", () => {
    expect(() => decideCapabilities(security(["FLY"], []), allCapabilities)).toThrow(/FLY/);
  });
});

it("reads the kernel's mask of capabilities", () => {
  expect(capabilitiesOfMask("0000000000000021")).toEqual(["CHOWN", "KILL"]);
  expect(capabilitiesOfMask("000001ffffffffff")).toEqual([...allCapabilities]);
});

import { describe, expect, test } from "vitest";
import { makePod } from "./make-pod.fixture.ts";
import { kernelHostname, podHostname } from "./pod-hostname.ts";

const long = `${"a".repeat(62)}-${"b".repeat(20)}`;

describe("podHostname", () => {
  test.each([
    ["the pod's name", {}, {}, "web", ""],
    ["its own", { hostname: "db" }, {}, "db", ""],
    ["with a subdomain", { hostname: "db", subdomain: "set" }, {}, "db", "set.shop.svc.cluster.local"],
    ["too long a name", {}, { name: long }, "a".repeat(62), ""],
    ["an override", { hostnameOverride: "a.example.org", subdomain: "x" }, {}, "a.example.org", ""],
  ])("%s", (_, spec, metadata, hostname, domain) => {
    expect(podHostname(makePod(spec, metadata), "cluster.local")).toEqual({ hostname, domain });
  });

  test.each([
    [{ hostname: "a.b" }, 'pod Hostname "a.b" is not a valid DNS label: must not contain dots'],
    [{ subdomain: "A" }, 'pod Subdomain "A" is not a valid DNS label: a lowercase RFC 1123 label'],
    [{ hostnameOverride: "" }, 'pod HostnameOverride "" is not a valid DNS subdomain: '],
  ])("%j is refused", (spec, message) => {
    expect(() => podHostname(makePod(spec), "cluster.local")).toThrow(message);
  });
});

describe("kernelHostname", () => {
  const name = { hostname: "db", domain: "set.shop.svc.cluster.local" };
  test.each([
    [name, undefined, "db"],
    [name, false, "db"],
    [name, true, "db.set.shop.svc.cluster.local"],
    [{ hostname: "db", domain: "" }, true, "db"],
    [{ hostname: "a".repeat(32), domain: "b".repeat(31) }, true, `${"a".repeat(32)}.${"b".repeat(31)}`],
  ])("%j %s is %s", (given, asFqdn, expected) => {
    expect(kernelHostname(given, asFqdn)).toBe(expected);
  });

  test("65 characters are too many", () => {
    const fqdn = `${"a".repeat(33)}.${"b".repeat(31)}`;
    expect(() => kernelHostname({ hostname: "a".repeat(33), domain: "b".repeat(31) }, true)).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, 65 characters requested)`,
    );
  });
});

import { describe, expect, test } from "vitest";
import { useStrategy } from "../../strategy.fixture.ts";

test("Endpoints", () => {
  const subsets = [{}, { addresses: [{ ip: "169.254.1.1" }], ports: [{ port: 1 }, { port: 2 }] }];
  expect(useStrategy("v1", "Endpoints").createErrors({ subsets })).toEqual([
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
    'subsets[1].addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    "subsets[1].ports[0].name: Required value",
    "subsets[1].ports[1].name: Required value",
  ]);
});

describe("EndpointSlice", () => {
  const { createErrors, updateErrors } = useStrategy("discovery.k8s.io/v1", "EndpointSlice");

  test.each<[object, string[]]>([
    [
      { addressType: "IPv6", endpoints: [{ addresses: ["FD00::1"] }] },
      ['endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
    ],
    [
      { addressType: "FQDN", endpoints: [{ addresses: ["localhost"] }, {}] },
      [
        'endpoints[0].addresses[0]: Invalid value: "localhost": should be a domain with at least two segments separated by dots',
        "endpoints[1].addresses: Required value: must contain at least 1 address",
      ],
    ],
    [
      { addressType: "Pigeon", ports: [{ port: 1 }, { port: 2 }] },
      [
        'addressType: Unsupported value: "Pigeon": supported values: "FQDN", "IPv4", "IPv6"',
        'ports[1].name: Duplicate value: ""',
      ],
    ],
  ])("create %j", (fields, expected) => {
    expect(createErrors(fields)).toEqual(expected);
  });

  test("the address type is immutable", () => {
    expect(updateErrors({ addressType: "IPv4" }, { addressType: "IPv6" })).toEqual([
      'addressType: Invalid value: "IPv6": field is immutable',
    ]);
  });
});

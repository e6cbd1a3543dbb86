import { expect, test } from "vitest";
import { canonicalIpProblems, cidrProblems, ipFamilyOf, ipProblems, isDualStack } from "./validate-ip.ts";

const notAnIp = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const mapped = "must not be an IPv4-mapped IPv6 address";

test.each([
  ["10.0.0.1", []],
  ["::", []],
  ["FE80::1", []],
  ["010.0.0.1", ["must not have leading 0s"]],
  ["10.0.0.256", [notAnIp]],
  ["10.0.0", [notAnIp]],
  ["fe80::1%eth0", [notAnIp]],
  ["localhost", [notAnIp]],
  ["", [notAnIp]],
  ["::ffff:1.2.3.4", [mapped]],
  ["0:0:0:0:0:ffff:102:304", [mapped]],
])("ip %j", (value, problems) => {
  expect(ipProblems(value)).toEqual(problems);
});

test.each([
  ["::", undefined],
  ["::1", undefined],
  ["1::", undefined],
  ["fe80::1", undefined],
  ["2001:db8::1:0:0:1", undefined],
  ["1:2:3:4:5:6:7:8", undefined],
  ["1:0:3:4:5:6:7:8", undefined],
  ["FE80::1", "fe80::1"],
  ["fe80:0:0:0:0:0:0:1", "fe80::1"],
  ["fe80::0001", "fe80::1"],
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["1:0:0:4:0:0:0:8", "1:0:0:4::8"],
  ["10:0:0:4:5:6:7:8", "10::4:5:6:7:8"],
])("canonical form of %s", (value, canonical) => {
  const expected = canonical ? [`must be in canonical form ("${canonical}")`] : [];
  expect(canonicalIpProblems(value)).toEqual(expected);
});

const notACidr = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

test.each([
  ["10.0.0.0/8", []],
  ["0.0.0.0/0", []],
  ["10.1.2.3/32", []],
  ["2001:db8::/64", []],
  ["10.0.0.1/8", ["must not have bits set beyond the prefix length"]],
  ["2001:db8::1/64", ["must not have bits set beyond the prefix length"]],
  ["10.0.0.0/08", ["must not have leading 0s in IP or prefix length"]],
  ["10.0.0.0/33", [notACidr]],
  ["10.0.0.0", [notACidr]],
  ["/8", [notACidr]],
])("cidr %s", (value, problems) => {
  expect(cidrProblems(value)).toEqual(problems);
});

test("an address has a family, anything else has none", () => {
  expect(ipFamilyOf("10.0.0.1")).toBe("IPv4");
  expect(ipFamilyOf("::1")).toBe("IPv6");
  expect(ipFamilyOf("x")).toBeUndefined();
  expect(isDualStack(["10.0.0.1", "::1"])).toBe(true);
  expect(isDualStack(["10.0.0.1", "10.0.0.2"])).toBe(false);
});

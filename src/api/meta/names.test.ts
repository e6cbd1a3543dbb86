import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../test/support/time/cpu-time.ts";
import {
  configKeyProblems,
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  dnsSubdomainWithUnderscoreProblems,
  envVarNameProblems,
  generateNameProblems,
  labelValueProblems,
  pathSegmentProblems,
  percentProblems,
  portNameProblems,
  portNumberProblems,
  qualifiedNameProblems,
} from "./names.ts";

const labelHint =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainHint =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

describe("valid names have no errors", () => {
  test.each([
    ["dns label", dnsLabelProblems, ["a", "0", "a-b", "a--b", "abc-123", "a".repeat(63)]],
    ["dns subdomain", dnsSubdomainProblems, ["a", "a.b", "a-b.c-d", "1.2.3", "a".repeat(253)]],
    ["dns 1035 label", dns1035LabelProblems, ["a", "a0", "a-0", "a--b"]],
    ["underscored", dnsSubdomainWithUnderscoreProblems, ["_ldap._tcp.example.com", "a_b", "a"]],
    ["path segment", pathSegmentProblems, ["system:node", "a b", "...", "Ä"]],
    ["qualified name", qualifiedNameProblems, ["a", "A_b.c", "example.com/My-Name", "1/2"]],
    ["label value", labelValueProblems, ["", "a", "A_b.c-d", "1".repeat(63)]],
    ["env var", envVarNameProblems, ["A", "my.env-name", "1A", "a b", "~", " "]],
    ["config key", configKeyProblems, ["a", ".dot", "a..b", "KEY_NAME"]],
    ["port name", portNameProblems, ["http", "a", "1a", "a-b"]],
    ["percent", percentProblems, ["0%", "93%", "250%"]],
  ])("%s", (_, problems, values) => {
    for (const value of values) expect(problems(value), value).toEqual([]);
  });
});

describe("invalid names have the errors of upstream", () => {
  test.each([
    [dnsLabelProblems, "", [labelHint]],
    [dnsLabelProblems, "A", [labelHint]],
    [dnsLabelProblems, "a-", [labelHint]],
    [dnsLabelProblems, "-a", [labelHint]],
    [dnsLabelProblems, "a\n", [labelHint]],
    [dnsLabelProblems, "a.b", ["must not contain dots"]],
    [dnsLabelProblems, "a".repeat(64), ["must be no more than 63 characters"]],
    [dnsSubdomainProblems, "a..b", [subdomainHint]],
    [dnsSubdomainProblems, "a_b", [subdomainHint]],
    [dnsSubdomainProblems, `${"a".repeat(253)}-`, ["must be no more than 253 characters", subdomainHint]],
    [pathSegmentProblems, "..", ["may not be '..'"]],
    [pathSegmentProblems, "a/b%c", ["may not contain '/'", "may not contain '%'"]],
    [labelValueProblems, "a".repeat(64), ["must be no more than 63 bytes"]],
    [
      labelValueProblems,
      "a b",
      [
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ],
    ],
    [
      qualifiedNameProblems,
      "a/b/c",
      [
        "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
      ],
    ],
    [
      qualifiedNameProblems,
      "/",
      [
        "prefix part must be non-empty",
        "name part must be non-empty",
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [qualifiedNameProblems, "A.com/b", [`prefix part ${subdomainHint}`]],
    [qualifiedNameProblems, "b".repeat(64), ["name part must be no more than 63 bytes"]],
    [envVarNameProblems, "", ["environment variable name must be non-empty"]],
    [
      envVarNameProblems,
      "a=b",
      ["a valid environment variable name must consist only of printable ASCII characters other than '='"],
    ],
    [configKeyProblems, "..", ["must not be '..'"]],
    [configKeyProblems, "..a", ["must not start with '..'"]],
    [
      portNameProblems,
      "-1--2-",
      [
        "must contain at least one letter (a-z)",
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
      ],
    ],
    [portNameProblems, "a".repeat(16), ["must be no more than 15 characters"]],
  ] as const)("%o %j", (problems, value, expected) => {
    expect(problems(value)).toEqual(expected);
  });

  test.each([0, -1, 65536])("port %d", (port) => {
    expect(portNumberProblems(port)).toEqual(["must be between 1 and 65535, inclusive"]);
  });
});

test("a prefix for generated names may end in a dash", () => {
  expect(generateNameProblems("dnsSubdomain", "web-")).toEqual([]);
  expect(generateNameProblems("dnsLabel", "-")).toEqual([labelHint]);
  expect(generateNameProblems("dnsLabel", "Web-")).toEqual([labelHint]);
  expect(generateNameProblems("pathSegment", "..")).toEqual([]);
});

test("validates hostile names in linear time", () => {
  const started = cpuTimeMs();
  for (const filler of ["a", "-", "a-", "a.", "_"]) {
    const value = `${filler.repeat(200_000)}!`;
    dnsLabelProblems(value);
    dnsSubdomainProblems(value);
    qualifiedNameProblems(value);
    labelValueProblems(value);
    portNameProblems(value);
  }
  expect(cpuTimeMs() - started).toBeLessThan(1000);
});

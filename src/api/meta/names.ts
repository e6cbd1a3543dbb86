/**
 * Problems of a Kubernetes name, in the words of upstream. Empty for a valid name. The regular expressions in messages
 * are those of upstream; the ones used for matching accept the same strings without backtracking. A missing name counts
 * as empty.
 */
type Problems = readonly string[];
const none: Problems = [];

const dnsLabelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const dnsSubdomainFormat = `${dnsLabelFormat}(\\.${dnsLabelFormat})*`;
const dns1035LabelFormat = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelKeyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const dnsLabel = /^[a-z0-9]+(?:-+[a-z0-9]+)*$/;
const dnsSubdomain = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/;
const dns1035Label = /^[a-z][a-z0-9]*(?:-+[a-z0-9]+)*$/;
const labelName = /^[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*$/;

export type NameRule = "dnsSubdomain" | "dnsLabel" | "dns1035Label" | "pathSegment";

const nameRules: Record<NameRule, (name: string) => Problems> = {
  dnsSubdomain: dnsSubdomainProblems,
  dnsLabel: dnsLabelProblems,
  dns1035Label: dns1035LabelProblems,
  pathSegment: pathSegmentProblems,
};

export function nameProblems(rule: NameRule, name: string): Problems {
  return nameRules[rule](name);
}

/** Problems of a `generateName`, which may end in a dash because random characters are appended. */
export function generateNameProblems(rule: NameRule, prefix: string): Problems {
  if (rule === "pathSegment") return pathSegmentPrefixProblems(prefix);
  const completed = prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
  return nameProblems(rule, completed);
}

export function dnsLabelProblems(value = ""): Problems {
  if (value.length <= 63 && dnsLabel.test(value)) return none;
  const problems = value.length > 63 ? [maxLength(63)] : [];
  if (!dnsLabel.test(value)) {
    problems.push(
      dnsSubdomain.test(value)
        ? "must not contain dots"
        : regexHint(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            dnsLabelFormat,
            ["my-name", "123-abc"],
          ),
    );
  }
  return problems;
}

export function dnsSubdomainProblems(value = ""): Problems {
  if (value.length <= 253 && dnsSubdomain.test(value)) return none;
  const problems = value.length > 253 ? [maxLength(253)] : [];
  if (!dnsSubdomain.test(value)) {
    problems.push(
      regexHint(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        dnsSubdomainFormat,
        ["example.com"],
      ),
    );
  }
  return problems;
}

/** Problems of a host name that covers all names of a domain: `*.example.com`. */
export function wildcardDnsSubdomainProblems(value = ""): Problems {
  const problems = value.length > 253 ? [maxLength(253)] : [];
  if (!value.startsWith("*.") || !dnsSubdomain.test(value.slice(2))) {
    problems.push(
      regexHint(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        `\\*\\.${dnsSubdomainFormat}`,
        ["*.example.com"],
      ),
    );
  }
  return problems;
}

export function dns1035LabelProblems(value = ""): Problems {
  if (value.length <= 63 && dns1035Label.test(value)) return none;
  const problems = value.length > 63 ? [maxLength(63)] : [];
  if (!dns1035Label.test(value)) {
    problems.push(
      regexHint(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        dns1035LabelFormat,
        ["my-name", "abc-123"],
      ),
    );
  }
  return problems;
}

const dnsSubdomainUnderscore = /^_?[a-z0-9]+(?:[-_]+[a-z0-9]+)*(?:\._?[a-z0-9]+(?:[-_]+[a-z0-9]+)*)*$/;

/** Problems of a DNS search domain, which may contain underscores like SRV names. */
export function dnsSubdomainWithUnderscoreProblems(value = ""): Problems {
  const problems = value.length > 253 ? [maxLength(253)] : [];
  if (!dnsSubdomainUnderscore.test(value)) {
    const label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
    problems.push(
      regexHint(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
        `${label}(\\.${label})*`,
        ["example.com"],
      ),
    );
  }
  return problems;
}

export function pathSegmentProblems(name = ""): Problems {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return pathSegmentPrefixProblems(name);
}

function pathSegmentPrefixProblems(name: string): Problems {
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}

/** Problems of a key of a label or annotation, a finalizer or a resource name: `example.com/name`. */
export function qualifiedNameProblems(value = ""): Problems {
  const slash = value.indexOf("/");
  const name = slash < 0 ? value : value.slice(slash + 1);
  const goodPrefix = slash < 0 || (slash > 0 && slash <= 253 && dnsSubdomain.test(value.slice(0, slash)));
  if (goodPrefix && name.length <= 63 && labelName.test(name)) return none;
  return explainQualifiedName(value);
}

function explainQualifiedName(value: string): string[] {
  const hint = regexHint(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    labelKeyFormat,
    ["MyName", "my.name", "123-abc"],
  );
  const parts = value.split("/", 3);
  if (parts.length > 2) {
    return [
      `a valid label key ${hint} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  const name = parts.at(-1) ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    const wrong = prefix === "" ? ["must be non-empty"] : dnsSubdomainProblems(prefix);
    problems.push(...wrong.map((problem) => `prefix part ${problem}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > 63) problems.push("name part must be no more than 63 bytes");
  if (!labelName.test(name)) problems.push(`name part ${hint}`);
  return problems;
}

export function labelValueProblems(value = ""): Problems {
  if (value === "" || (value.length <= 63 && labelName.test(value))) return none;
  const problems = value.length > 63 ? ["must be no more than 63 bytes"] : [];
  if (!labelName.test(value)) {
    problems.push(
      regexHint(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        `(${labelKeyFormat})?`,
        ["MyValue", "my_value", "12345"],
      ),
    );
  }
  return problems;
}

/** Problems of an environment variable name. Since 1.34 almost all printable characters are allowed. */
export function envVarNameProblems(value = ""): Problems {
  if (value === "") return ["environment variable name must be non-empty"];
  if (/^[ -<>-~]+$/.test(value)) return none;
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** Problems of a key of a ConfigMap or Secret, which becomes a file name. */
export function configKeyProblems(value = ""): Problems {
  const problems = value.length > 253 ? [maxLength(253)] : [];
  if (!/^[-._a-zA-Z0-9]+$/.test(value)) {
    problems.push(
      regexHint(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        "[-._a-zA-Z0-9]+",
        ["key.name", "KEY_NAME", "key-name"],
      ),
    );
  }
  if (value === "." || value === "..") problems.push(`must not be '${value}'`);
  else if (value.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

export function httpHeaderNameProblems(value = ""): Problems {
  if (/^[-A-Za-z0-9]+$/.test(value)) return none;
  return [
    regexHint("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", [
      "X-Header-Name",
    ]),
  ];
}

/** Problems of a port name, which is an IANA service name. */
export function portNameProblems(name = ""): Problems {
  const problems: string[] = [];
  if (name.length > 15) problems.push(maxLength(15));
  if (!/^[-a-z0-9]+$/.test(name)) {
    problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) problems.push("must contain at least one letter (a-z)");
  if (name.includes("--")) problems.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) problems.push("must not begin or end with a hyphen");
  return problems;
}

export function portNumberProblems(port = 0): Problems {
  return rangeProblems(port, 1, 65535);
}

export function rangeProblems(value: number, min: number, max: number): Problems {
  return value >= min && value <= max ? none : [`must be between ${min} and ${max}, inclusive`];
}

/** Problems of a user or group ID. */
export function userIdProblems(id: number): Problems {
  return rangeProblems(id, 0, 2 ** 31 - 1);
}

export function percentProblems(value = ""): Problems {
  if (/^[0-9]+%$/.test(value)) return none;
  return [
    regexHint("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", [
      "1%",
      "93%",
    ]),
  ];
}

function maxLength(length: number): string {
  return `must be no more than ${length} characters`;
}

function regexHint(message: string, format: string, examples: readonly string[]): string {
  const list = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${list}regex used for validation is '${format}')`;
}

import {
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  generateNameProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../meta/names.ts";
import { type FunctionDeclaration, fn, member, nameType } from "../functions.ts";
import { parseTimestamp } from "../time.ts";
import { structType } from "../type.ts";
import { CelObject, list, Optional } from "../values.ts";
import { uriProblem } from "./urls.ts";

export const formatType = nameType("format", structType("kubernetes.NamedFormat"));

type Problems = readonly string[];

class Format extends CelObject {
  readonly type = formatType;
  readonly name: string;
  /** Size of the regular expression that the format stands for in costs. */
  readonly regexSize: number;
  readonly problems: (text: string) => Problems;

  constructor(name: string, regexSize: number, problems: (text: string) => Problems) {
    super();
    this.name = name;
    this.regexSize = regexSize;
    this.problems = problems;
  }

  equals(other: CelObject): boolean {
    return other instanceof Format && other.name === this.name;
  }
}

const test = (isValid: (text: string) => boolean, problem: string) => (text: string) =>
  isValid(text) ? [] : [problem];

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const dateTimeSize = 71;

const formats: Readonly<Record<string, Format>> = {
  dns1123Label: new Format("DNS1123Label", 30, dnsLabelProblems),
  dns1123Subdomain: new Format("DNS1123Subdomain", 60, dnsSubdomainProblems),
  dns1035Label: new Format("DNS1035Label", 30, dns1035LabelProblems),
  qualifiedName: new Format("QualifiedName", 60, qualifiedNameProblems),
  dns1123LabelPrefix: new Format("DNS1123LabelPrefix", 30, (text) => generateNameProblems("dnsLabel", text)),
  dns1123SubdomainPrefix: new Format("DNS1123SubdomainPrefix", 60, (text) =>
    generateNameProblems("dnsSubdomain", text),
  ),
  dns1035LabelPrefix: new Format("DNS1035LabelPrefix", 30, (text) =>
    generateNameProblems("dns1035Label", text),
  ),
  labelValue: new Format("LabelValue", 40, labelValueProblems),
  uri: new Format("URI", 1103, (text) => {
    const problem = uriProblem(text);
    return problem === undefined ? [] : [problem];
  }),
  uuid: new Format(
    "uuid",
    70,
    test((text) => uuid.test(text), "does not match the UUID format"),
  ),
  byte: new Format(
    "byte",
    84,
    test((text) => base64.test(text), "invalid base64"),
  ),
  date: new Format(
    "date",
    dateTimeSize,
    test((text) => parseTimestamp(`${text}T00:00:00Z`) !== undefined, "invalid date"),
  ),
  datetime: new Format(
    "datetime",
    dateTimeSize,
    test((text) => parseTimestamp(text) !== undefined, "invalid datetime"),
  ),
};

/** Kubernetes' named formats: `format.dns1123Label().validate(text)`. */
export const formatFunctions: readonly FunctionDeclaration[] = [
  ...Object.entries(formats).map(([name, format]) =>
    fn(`format.${name}`, [`format.${name}`, " -> format", () => format]),
  ),
  fn("format.named", [
    "format-named",
    "string -> optional(format)",
    ([name]) => {
      const format = Object.hasOwn(formats, name as string) ? formats[name as string] : undefined;
      return format ? Optional.of(format) : Optional.none;
    },
  ]),
  member("validate", [
    "format-validate",
    "format, string -> optional(list(string))",
    ([format, text]) => {
      const problems = (format as Format).problems(text as string);
      return problems.length === 0 ? Optional.none : Optional.of(list(problems));
    },
  ]),
];

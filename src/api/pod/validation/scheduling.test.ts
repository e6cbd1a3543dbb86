import { expect, test } from "vitest";
import type { PodSpec } from "../../meta/objects.ts";
import { makePod, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const zone = "topology.kubernetes.io/zone";
const selector = { matchLabels: { app: "web" } };

test.each<[Partial<PodSpec>, string[]]>([
  [
    {
      affinity: {
        nodeAffinity: {
          [required]: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: zone, operator: "In", values: ["a"] }] }],
          },
          [preferred]: [{ weight: 1, preference: { matchExpressions: [{ key: zone, operator: "Exists" }] } }],
        },
        podAntiAffinity: {
          [required]: [{ topologyKey: zone, labelSelector: selector, matchLabelKeys: ["v"] }],
        },
      },
    },
    [],
  ],
  [
    { affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [] } } } },
    [
      `affinity.nodeAffinity.${required}.nodeSelectorTerms: Required value: must have at least one node selector term`,
    ],
  ],
  [
    {
      affinity: {
        nodeAffinity: {
          [required]: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: zone, operator: "In" },
                  { key: zone, operator: "Like" },
                ],
              },
              { matchFields: [{ key: "spec.name", operator: "Exists" }] },
            ],
          },
        },
      },
    },
    [
      `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[1].operator: Invalid value: "Like": not a valid selector operator`,
      `affinity.nodeAffinity.${required}.nodeSelectorTerms[1].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator`,
      `affinity.nodeAffinity.${required}.nodeSelectorTerms[1].matchFields[0].key: Invalid value: "spec.name": not a valid field selector key`,
    ],
  ],
  [
    {
      affinity: {
        podAffinity: {
          [preferred]: [{ weight: 101, podAffinityTerm: { topologyKey: zone, matchLabelKeys: ["v"] } }],
        },
      },
    },
    [
      `affinity.podAffinity.${preferred}[0].weight: Invalid value: 101: must be in the range 1-100`,
      `affinity.podAffinity.${preferred}[0].podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
    ],
  ],
  [{ tolerations: [{ operator: "Exists" }, { key: "a", value: "b", effect: "NoSchedule" }] }, []],
  [
    { tolerations: [{ operator: "Equal" }] },
    [
      'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  ],
  [
    { tolerations: [{ key: "a", operator: "Exists", value: "b", effect: "Never", tolerationSeconds: 1 }] },
    [
      "tolerations[0].effect: Invalid value: \"Never\": effect must be 'NoExecute' when `tolerationSeconds` is set",
      "tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
      'tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  ],
  [
    { tolerations: [{ key: "a", operator: "Like" }] },
    ['tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"'],
  ],
  [
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "DoNotSchedule" }] },
    [],
  ],
  [
    {
      topologySpreadConstraints: [
        { maxSkew: 0, topologyKey: zone, whenUnsatisfiable: "ScheduleAnyway", minDomains: 2 },
        { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "ScheduleAnyway", nodeTaintsPolicy: "Obey" },
      ],
    },
    [
      "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
      `topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{${zone}, ScheduleAnyway}"`,
      "topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
      'topologySpreadConstraints[1].nodeTaintsPolicy: Unsupported value: "Obey": supported values: "Honor", "Ignore"',
    ],
  ],
  [{ dnsPolicy: "None" }, ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]],
  [
    { dnsPolicy: "None", dnsConfig: { nameservers: ["10.0.0.10"], searches: ["_tcp.example.com.", "."] } },
    [],
  ],
  [
    { dnsConfig: { nameservers: ["x"], options: [{ value: "1" }] } },
    [
      'dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      "dnsConfig.options[0]: Required value: must not be empty",
    ],
  ],
  [
    { dnsConfig: { nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] } },
    [
      'dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
    ],
  ],
  [{ hostAliases: [{ ip: "127.0.0.1", hostnames: ["a.example.com"] }] }, []],
])("case %# %j", (spec, expected) => {
  const found = sentences(validatePod(makePod(spec)));
  expect(found).toEqual(expected.map((sentence) => `spec.${sentence}`));
});

import { expect, test } from "vitest";
import type { Pod, PodSpec } from "../../../meta/objects.ts";
import { makePod, sentences } from "../../../pod/pod.fixture.ts";
import { validatePodStatusUpdate } from "./validate-status.ts";

type Status = NonNullable<Pod["status"]>;

function update(before: Status, after: Status, spec: Partial<PodSpec> = {}): string[] {
  const current = { ...makePod(spec), status: before };
  return sentences(validatePodStatusUpdate({ ...current, status: after }, current));
}

const ended = (exitCode: number) => [
  {
    name: "web",
    image: "a",
    imageID: "a",
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode } },
  },
];
const running = [
  { name: "web", image: "a", imageID: "a", ready: true, restartCount: 1, state: { running: {} } },
];
const revived =
  "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";

test.each<[string, Status, Status, Partial<PodSpec>, string[]]>([
  [
    "a phase",
    { phase: "Pending" },
    { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
    {},
    [],
  ],
  ["two families", {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }, {}, []],
  [
    "one family twice",
    {},
    { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
    {},
    [
      'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
  ],
  [
    "no address",
    {},
    { podIPs: [{ ip: "x" }] },
    {},
    ['status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ],
  ["no address, but known", { podIPs: [{ ip: "x" }] }, { podIPs: [{ ip: "x" }] }, {}, []],
  [
    "another host",
    {},
    { hostIP: "10.0.0.1", hostIPs: [{ ip: "10.0.0.2" }] },
    {},
    ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
  ],
  [
    "QoS",
    { qosClass: "BestEffort" },
    { qosClass: "Guaranteed" },
    {},
    ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
  ],
  [
    "a negative generation",
    {},
    { observedGeneration: -1 },
    {},
    ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
  ],
  ["our conditions", {}, { conditions: [{ type: "FailingToStart", status: "True" }] }, {}, []],
  ["a nominated node", {}, { nominatedNodeName: "n" }, {}, []],
  [
    "a nominated node when bound",
    {},
    { nominatedNodeName: "n" },
    { nodeName: "m" },
    ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"],
  ],
  ["restart, Always", { containerStatuses: ended(1) }, { containerStatuses: running }, {}, []],
  [
    "restart, Never",
    { containerStatuses: ended(1) },
    { containerStatuses: running },
    { restartPolicy: "Never" },
    [revived],
  ],
  [
    "restart after failure",
    { containerStatuses: ended(1) },
    { containerStatuses: running },
    { restartPolicy: "OnFailure" },
    [],
  ],
  [
    "restart after success",
    { containerStatuses: ended(0) },
    { containerStatuses: running },
    { restartPolicy: "OnFailure" },
    [revived],
  ],
  [
    "restart by rule",
    { containerStatuses: ended(42) },
    { containerStatuses: running },
    {
      restartPolicy: "Never",
      containers: [
        {
          name: "web",
          image: "a",
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        },
      ],
    },
    [],
  ],
])("%s", (_, before, after, spec, expected) => {
  expect(update(before, after, spec)).toEqual(expected);
});

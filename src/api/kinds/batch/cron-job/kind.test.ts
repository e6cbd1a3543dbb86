import { expect, test } from "vitest";
import type { CronJob } from "../../../meta/objects.ts";
import { cellsOf } from "../../cells.fixture.ts";
import { context, useStrategy } from "../../strategy.fixture.ts";

const { createErrors, make, strategy, updateErrors } = useStrategy("batch/v1", "CronJob");

const podSpec = { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] };
const jobTemplate = { spec: { template: { spec: podSpec } } };
const base = { schedule: "*/5 * * * *", jobTemplate };

test("defaults are those of upstream; the Job's own defaults are not set", () => {
  const { spec } = make({ spec: base }) as CronJob;
  expect(spec).toMatchObject({
    concurrencyPolicy: "Allow",
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  expect(spec?.jobTemplate.spec?.backoffLimit).toBeUndefined();
  expect(spec?.jobTemplate.spec?.template.spec?.dnsPolicy).toBe("ClusterFirst");
});

test.each<[object, string[]]>([
  [{}, []],
  [{ timeZone: "Asia/Tokyo", schedule: "@every 5m" }, []],
  [{ schedule: "" }, ["spec.schedule: Required value"]],
  [
    { schedule: "* * * *" },
    ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
  ],
  [
    { schedule: "TZ=UTC * * * * *" },
    [
      'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  ],
  [{ timeZone: "No/Where" }, ['spec.timeZone: Invalid value: "No/Where": unknown time zone No/Where']],
  [
    { timeZone: "Local" },
    [
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
  ],
  [{ timeZone: "" }, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']],
  [
    { concurrencyPolicy: "Queue" },
    ['spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    {
      jobTemplate: {
        spec: { ...jobTemplate.spec, selector: { matchLabels: { a: "b" } }, manualSelector: true },
      },
    },
    [
      'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ],
  [
    { failedJobsHistoryLimit: -1 },
    ["spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
  ],
])("create %j", (change, expected) => {
  expect(createErrors({ spec: { ...base, ...change } })).toEqual(expected);
});

test("its name leaves room for the names of its Jobs", () => {
  const name = "a".repeat(53);
  const metadata = { name, namespace: "default" };
  expect(createErrors({ metadata, spec: base })).toEqual([
    `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
  ]);
  expect(updateErrors({ metadata, spec: base }, { metadata, spec: { ...base, suspend: true } })).toEqual([]);
});

test("a stored schedule with a time zone stays valid, with a warning", () => {
  const spec = { ...base, schedule: "TZ=UTC * * * * *" };
  expect(updateErrors({ spec }, { spec: { ...spec, suspend: true } })).toEqual([]);
  expect(updateErrors({ spec }, { spec: { ...spec, timeZone: "UTC" } })).toEqual([
    'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ]);
  expect(strategy.warnings?.(make({ spec }), context, make({ spec }))).toEqual([
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
  ]);
});

test("columns", () => {
  const status = { active: [{ name: "a-1" }], lastScheduleTime: "2026-01-01T00:58:00Z" };
  const spec = { ...base, suspend: false, timeZone: "UTC" };
  expect(cellsOf("CronJob", { spec, status })).toEqual([
    ...["x", "*/5 * * * *", "UTC", "False", 1, "2m", "60m", "a", "a", "<none>"],
  ]);
  expect(cellsOf("CronJob", { spec: base }).slice(2, 6)).toEqual(["<none>", "<unset>", 0, "<none>"]);
});

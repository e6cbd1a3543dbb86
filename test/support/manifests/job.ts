import type { Job, JobSpec } from "../../../src/api/meta/objects.ts";

/** A Job whose containers exit after some time on a simulated node. */
export function makeJob(
  name: string,
  { exit = "code=0 after=100ms", ...spec }: Partial<JobSpec> & { readonly exit?: string } = {},
): Job {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "default" },
    spec: {
      template: {
        metadata: { labels: { app: name }, annotations: { "simulated.kindling.dev/exit": exit } },
        spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] },
      },
      ...spec,
    },
  };
}

import { describe, test } from "vitest";
import { expectExplained, type Given, sandboxed, waiting } from "./explain-pod.fixture.ts";

describe("an image that is on its way", () => {
  test.each<Given>([
    {
      name: "an image comes along",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      pulls: [
        {
          image: "web:1",
          container: "c",
          startedAt: "2026-01-01T00:00:50Z",
          offset: 50 * 2 ** 20,
          total: 150 * 2 ** 20,
        },
      ],
      stage: "pulling",
      since: "00:50",
      because: /web:1 is being pulled: 50 of 150 MiB, about 20 s left/,
      heals: true,
    },
    {
      name: "an image is pulled by another kubelet",
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      events: [{ reason: "Pulling", message: 'Pulling image "web:1"' }],
      stage: "pulling",
      since: "00:50",
      because: /Pulling image "web:1"/,
      heals: true,
    },
    {
      name: "a pull of which nothing is known yet",
      pulls: [{ container: "c", image: "web:1", startedAt: "2026-01-01T00:00:50Z", offset: 0, total: 0 }],
      status: { conditions: sandboxed, containerStatuses: [waiting("ContainerCreating")] },
      stage: "pulling",
      because: /web:1 is being pulled: the registry has sent nothing yet\.$/,
      heals: true,
    },
  ])("$name", expectExplained);
});

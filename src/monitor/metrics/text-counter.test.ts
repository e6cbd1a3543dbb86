import { expect, test } from "vitest";
import { createTextCounter } from "./text-counter.ts";

test("counts by labels; in OpenMetrics it is described without its ending", () => {
  const counter = createTextCounter({ name: "restarts_total", help: "Restarts" });
  counter.inc('a="1"');
  counter.inc('a="2"', 2.5);
  counter.inc('a="1"');
  const lines = 'restarts_total{a="1"} 2\nrestarts_total{a="2"} 2.5\n';
  expect(counter.render("prometheus")).toBe(
    `# HELP restarts_total Restarts\n# TYPE restarts_total counter\n${lines}`,
  );
  expect(counter.render("openmetrics")).toBe(`# HELP restarts Restarts\n# TYPE restarts counter\n${lines}`);
});

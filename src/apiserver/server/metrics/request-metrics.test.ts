import { expect, test } from "vitest";
import { builtInKinds } from "../../../api/kinds/built-in-kinds.ts";
import { createKindRegistry } from "../../kinds/kind-registry.ts";
import { parseRequest } from "../../request/request-info.ts";
import { createRequestMetrics } from "./request-metrics.ts";

const kinds = createKindRegistry(builtInKinds);

const pods = "/api/v1/namespaces/default/pods";

function metricsOf(requests: readonly { method?: string; path: string; code?: number; seconds?: number }[]) {
  const metrics = createRequestMetrics();
  for (const { method = "GET", path, code = 200, seconds = 0.001 } of requests) {
    const info = parseRequest(kinds, method, path, new URLSearchParams(path.split("?")[1] ?? ""));
    if (info) metrics.observe(info, { code, seconds, dryRun: path.includes("dryRun") });
  }
  return metrics.text().split("\n");
}

function totals(lines: readonly string[]): string[] {
  return lines.filter((line) => line.startsWith("apiserver_request_total{")).sort();
}

test("counts requests by attributes and status code", () => {
  const lines = metricsOf([
    { path: `${pods}/a` },
    { path: `${pods}/b` },
    { path: `${pods}/c`, code: 404 },
    { method: "PATCH", path: `${pods}/a/status` },
    { method: "POST", path: pods, code: 201 },
    { path: pods },
    { path: "/api/v1/pods" },
    { path: "/apis/apps/v1/deployments" },
    { path: "/readyz" },
  ]);
  const labels = (verb: string, resource: string, subresource: string, scope: string, code: number) =>
    `apiserver_request_total{dry_run="",component="apiserver",verb="${verb}",group="",version="v1",resource="${resource}",subresource="${subresource}",scope="${scope}",code="${code}"}`;
  const found = totals(lines);
  expect(found).toHaveLength(8);
  expect(found).toContain(`${labels("GET", "pods", "", "resource", 200)} 2`);
  expect(found).toContain(`${labels("GET", "pods", "", "resource", 404)} 1`);
  expect(found).toContain(`${labels("PATCH", "pods", "status", "resource", 200)} 1`);
  expect(found).toContain(`${labels("POST", "pods", "", "resource", 201)} 1`);
  expect(found).toContain(`${labels("LIST", "pods", "", "namespace", 200)} 1`);
  expect(found).toContain(`${labels("LIST", "pods", "", "cluster", 200)} 1`);
});

test("each label set has its own series", () => {
  const requests = ["GET", "PUT", "PATCH", "DELETE"].flatMap((method) =>
    ["", "/status", "/log", "/exec", "/binding"].flatMap((subresource) =>
      [200, 201, 404].map((code) => ({ method, path: `${pods}/a${subresource}`, code })),
    ),
  );
  const found = totals(metricsOf([...requests, ...requests]));
  expect(found).toHaveLength(requests.length);
  expect(found.every((line) => line.endsWith(" 2"))).toBe(true);
});

test("values that clients choose freely are not labels", () => {
  const found = totals(
    metricsOf([
      { method: "BREW", path: "/coffee" },
      { method: "STEEP", path: "/tea" },
      { path: "/apis/example.com/v1/widgets/mine" },
      { path: "/apis/example.com/v1/gadgets/mine" },
      { path: `${pods}/a/nosuch` },
      { path: `${pods}/b/other` },
    ]),
  );
  expect(found.map((line) => line.replace(/.*verb="(\w+)".*,resource="(\w*)".* (\d+)$/, "$1 $2 $3"))).toEqual(
    ["GET  2", "GET pods 2", "other  2"],
  );
});

test("durations are counted in cumulative buckets, for all codes together; those of watches are not", () => {
  const lines = metricsOf([
    { path: `${pods}/a`, seconds: 0.005 },
    { path: `${pods}/a`, seconds: 0.03, code: 404 },
    { path: `${pods}/a`, seconds: 100 },
    { path: `${pods}?watch=1`, seconds: 3_600 },
  ]);
  const durations = lines.filter((line) => line.startsWith("apiserver_request_duration_seconds"));
  const value = (start: string) =>
    durations.find((line) => line.startsWith(`apiserver_request_duration_seconds_${start}`))?.split("} ")[1];
  expect(value('bucket{le="0.005"')).toBe("1");
  expect(value('bucket{le="0.025"')).toBe("1");
  expect(value('bucket{le="0.05"')).toBe("2");
  expect(value('bucket{le="60"')).toBe("2");
  expect(value('bucket{le="+Inf"')).toBe("3");
  expect(value("sum")).toBe("100.035");
  expect(value("count")).toBe("3");
  expect(durations.filter((line) => line.includes("_count{"))).toHaveLength(1);
});

import { exponentialBuckets, type Metrics } from "../../lib/metrics/metrics.ts";
import { rcodeName } from "../forward/forward-metrics.ts";

/** Metrics of one listener, with the names of CoreDNS' plugin metrics. */
export interface ListenerMetrics {
  /** Returns a function that counts one response and its query. Call it once for each kind of response. */
  seriesOf(facts: ResponseFacts): ObserveResponse;
  /** Counts a message that was not a query or not allowed. */
  dropped(): void;
}

interface ResponseFacts {
  readonly zone: string;
  readonly type: string;
  readonly rcode: number;
  readonly plugin: string;
}

export type ObserveResponse = (queryBytes: number, responseBytes: number, seconds: number) => void;

/** Types with a series; as in CoreDNS, all others share one, so that clients cannot create series. */
const knownTypes = new Set(
  "A AAAA MX SOA CNAME PTR TXT NS SRV DS DNSKEY RRSIG NSEC NSEC3 IXFR AXFR ANY".split(" "),
);
const sizeBuckets = [0, 100, 200, 300, 400, 511, 1_023, 2_047, 4_095, 8_291, 16_000, 32_000, 48_000, 64_000];

const requests = {
  name: "coredns_dns_requests_total",
  help: "Counter of DNS requests made per zone, protocol and family.",
};
const responses = { name: "coredns_dns_responses_total", help: "Counter of response status codes." };
const duration = {
  name: "coredns_dns_request_duration_seconds",
  help: "Histogram of the time (in seconds) each request took per zone.",
  buckets: exponentialBuckets(0.000_25, 2, 16),
};
const requestSize = {
  name: "coredns_dns_request_size_bytes",
  help: "Size of the request in bytes per zone and protocol.",
  buckets: sizeBuckets,
};
const responseSize = {
  name: "coredns_dns_response_size_bytes",
  help: "Size of the returned response in bytes.",
  buckets: sizeBuckets,
};

export function createListenerMetrics(
  metrics: Metrics,
  listener: { readonly server: string; readonly proto: "udp" | "tcp"; readonly family: "1" | "2" },
): ListenerMetrics {
  const { server, proto, family } = listener;
  const view = "";
  const known = new Map<string, ObserveResponse>();

  function create({ zone, type, rcode, plugin }: ResponseFacts): ObserveResponse {
    const of = { server, zone, view };
    const requested = metrics.counter(requests, { ...of, proto, family, type });
    const responded = metrics.counter(responses, { ...of, rcode: rcodeName(rcode), plugin });
    const took = metrics.histogram(duration, of);
    const received = metrics.histogram(requestSize, { ...of, proto });
    const sent = metrics.histogram(responseSize, { ...of, proto });
    return (queryBytes, responseBytes, seconds) => {
      requested.add();
      responded.add();
      received.observe(queryBytes);
      sent.observe(responseBytes);
      took.observe(seconds);
    };
  }

  return {
    seriesOf(facts) {
      const type = knownTypes.has(facts.type) ? facts.type : "other";
      const key = `${facts.zone} ${type} ${facts.rcode} ${facts.plugin}`;
      const series = known.get(key) ?? create({ ...facts, type });
      known.set(key, series);
      return series;
    },
    dropped() {
      metrics.counter(requests, { server, zone: "dropped", view, proto, family, type: "other" }).add();
    },
  };
}

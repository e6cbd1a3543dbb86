import type { Metrics } from "../lib/metrics.ts";
import type { Transport } from "./transport.ts";

const requests = {
  name: "rest_client_requests_total",
  help: "Requests to the API server, by status code, method and host",
};

/** The same transport, with its requests counted under upstream's name. */
export function countRequests(transport: Transport, metrics: Metrics, host: string): Transport {
  const count = (code: string, method: string) => metrics.counter(requests, { code, method, host }).add();
  return {
    async send(request) {
      try {
        const response = await transport.send(request);
        count(String(response.status), request.method);
        return response;
      } catch (error) {
        count("<error>", request.method);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

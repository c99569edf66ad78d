/** Endpoints that nodes hold to be down: each node judges by its own attempts. */
export const downEndpoints = {
  name: '0054-down-endpoints',
  sql: `
    create table down_endpoints (
      endpoint_id text not null,
      -- a node, for as long as it runs
      node_id text not null,
      down_since timestamptz not null,
      -- null when one is due: whatever comes next is the probe
      next_probe_at timestamptz,
      -- a node that runs says it again and again
      seen_at timestamptz not null,
      primary key (endpoint_id, node_id)
    );
  `,
}

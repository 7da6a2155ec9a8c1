// Queries that the help and messages show to users.

export const statusesQuery = 'SELECT status, count(*) FROM pages GROUP BY status';
export const agentsQuery = 'SELECT agent, count(*) FROM pages GROUP BY agent';
export const largestHostsQuery =
  'SELECT host, pages_done FROM hosts ORDER BY pages_done DESC LIMIT 10';
export const failuresQuery = 'SELECT url, error FROM pages WHERE status IS NULL';

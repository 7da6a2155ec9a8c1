/** The path of the API of the HTTP server. */
export const API = '/api/v1';

const { GITHUB_SERVER_URL: server = 'https://github.com', GITHUB_REPOSITORY: path = 'OWNER/sojourn' } = process.env

/** Where the source is: the repository whose workflow builds this. npm accepts provenance for no other. */
export const repository = `${server}/${path}`

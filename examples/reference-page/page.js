// validatorUrl: without null, the page would send the document's address to an external service.
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
})

import BrowserBridge

let pages = BrowserConfiguration(source: "pages", documents: ["/": BrowserDocument(contentType: "text/html", body: [])])
try pages.validate()
print(pages.documents.count)

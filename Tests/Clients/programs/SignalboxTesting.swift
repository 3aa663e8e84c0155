import SignalboxTesting

let page = InMemoryAdapter(source: "page")
let message = await page.post("loading")
print(page.waiting, message.original)

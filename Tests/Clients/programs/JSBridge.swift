import JSBridge

let page = JavaScriptCoreConfiguration(source: "page", scripts: [PageScript(name: "page.js", source: "1")])
try page.validate()
print(page.scripts.count)

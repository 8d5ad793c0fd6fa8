for i = 1, #ARGV do drop(ARGV[i]) end
return 1
